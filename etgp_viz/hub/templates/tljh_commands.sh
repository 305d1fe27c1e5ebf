#!/bin/sh
# For The Littlest JupyterHub: run once as root, after `etgp-viz class init`. You can also run its lines by hand.
set -e

# Settings of the students' servers, explained in the file itself.
cp "$folder/tljh/etgp_viz.py" /opt/tljh/config/jupyterhub_config.d/etgp_viz.py

# Memory limit for one student: more than an equal share, because students rarely all need much at once.
tljh-config set limits.memory $limit

# Stop the server of a student who has been away for an hour.
tljh-config set services.cull.enabled true
tljh-config set services.cull.timeout 3600

# The process from which kernels are forked. Without it, students get ordinary kernels.
cp "$folder/etgp-viz-warm.service" /etc/systemd/system/etgp-viz-warm.service
systemctl daemon-reload
systemctl enable --now etgp-viz-warm.service

tljh-config reload hub

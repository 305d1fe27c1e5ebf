#!/bin/sh
# For The Littlest JupyterHub: run once as root, after `etgp-viz class init`. Each line may be run by hand.
set -e

# What the students' servers do: see the comments in the file.
cp "$folder/tljh/etgp_viz.py" /opt/tljh/config/jupyterhub_config.d/etgp_viz.py

# Memory of one student. More than an equal share, because students rarely need much at the same moment.
tljh-config set limits.memory $limit

# Stop the server of a student who has been away for an hour.
tljh-config set services.cull.enabled true
tljh-config set services.cull.timeout 3600

# The process from which kernels are forked. Without it, kernels are ordinary ones.
cp "$folder/etgp-viz-warm.service" /etc/systemd/system/etgp-viz-warm.service
systemctl daemon-reload
systemctl enable --now etgp-viz-warm.service

tljh-config reload hub

"""Settings of Sphinx; `python -m tools.site` runs it on the pages that it has assembled."""

import json
import os
from pathlib import Path

import etgp_viz

SOURCE = Path(os.environ["ETGP_VIZ_SITE"])

project = "etgp-viz"
author = "etgp-viz contributors"
project_copyright = f"the {author}"
release = version = etgp_viz.__version__

extensions = ["myst_parser", "sphinx_copybutton", "tools.site.markup"]
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 4
site_names = json.loads((SOURCE / "names.json").read_text(encoding="utf-8"))
html_math_renderer = "mathml"
highlight_language = "python"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
suppress_warnings = ["myst.header"]  # a generated page may begin below the first level
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_title = "etgp-viz"
html_static_path = [str(Path(__file__).parent / "static"), str(SOURCE / "static")]
html_css_files = ["site.css", "colours.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_copy_source = False
html_show_sourcelink = False
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
html_show_search_summary = False  # a browser may not read other pages from the disk
html_context = {"default_mode": "auto"}
html_theme_options = {
    "header_links_before_dropdown": 7,
    "icon_links": [],
    "navbar_align": "left",
    "navigation_with_keys": False,
    "show_prev_next": True,
    "show_toc_level": 2,
    "primary_sidebar_end": [],  # the theme has a place for advertisements there
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

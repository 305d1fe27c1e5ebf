"""Sphinx extension: formulas as MathML, and names of the API and of the glossary that are links."""

import re
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util.nodes import make_refnode

from etgp_viz.course.publish.mathml import to_mathml

__all__ = ["setup"]


class LinkNames(SphinxTransform):
    """Turn `fit` in a text into a link to its place in the reference, or `whiten` to the glossary.

    So the pages stay plain Markdown. Headings, links and code blocks are left alone.
    """

    default_priority = 200

    def apply(self, **_: Any) -> None:
        names: dict[str, str] = self.config.site_names
        for literal in list(self.document.findall(nodes.literal)):
            if _is_inside(literal, (nodes.reference, nodes.title, pending_xref)):
                continue
            text = re.sub(r"\(.*\)$", "", literal.astext()).removeprefix("etgp_viz.")
            if text in names and not names[text].startswith(f"{self.env.docname}#"):
                link = pending_xref(
                    "", refdomain="", reftype="site-name", reftarget=text, refdoc=self.env.docname
                )
                literal.replace_self(link)
                link += literal


def _is_inside(node: nodes.Node, kinds: tuple[type[nodes.Node], ...]) -> bool:
    while node.parent is not None:
        node = node.parent
        if isinstance(node, kinds):
            return True
    return False


def _resolve(app: Sphinx, env: Any, node: pending_xref, content: nodes.TextElement) -> Any:
    """The link of a name, by the table of names in the configuration."""
    if node.get("reftype") != "site-name":
        return None
    page, _, anchor = app.config.site_names[node["reftarget"]].partition("#")
    return make_refnode(app.builder, node["refdoc"], page, anchor, content)


def _inline_math(self: Any, node: nodes.Element) -> None:
    self.body.append(to_mathml(node.astext()))
    raise nodes.SkipNode


def _block_math(self: Any, node: nodes.Element) -> None:
    self.body.append(to_mathml(node.astext(), display=True))
    raise nodes.SkipNode


def _load_plots(
    app: Sphinx, _page: str, _template: str, context: dict[str, Any], _tree: Any
) -> None:
    """Let a page with plots, and no other, load plotly and what moves the plots."""
    if "class='still" in context.get("body", ""):
        app.add_js_file("plotly.min.js", loading_method="defer")
        app.add_js_file("stills.js", loading_method="defer")


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the extension to an application."""
    app.add_config_value("site_names", {}, "env")
    app.add_html_math_renderer("mathml", (_inline_math, None), (_block_math, None))
    app.add_transform(LinkNames)
    app.connect("missing-reference", _resolve)
    app.connect("html-page-context", _load_plots)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

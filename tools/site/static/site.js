// Names for screen readers where the theme has none, or one that differs from what is shown.
for (const button of document.querySelectorAll(".search-button-field")) button.removeAttribute("aria-label");
for (const summary of document.querySelectorAll(".bd-sidebar-primary summary")) {
  const page = summary.closest("li").querySelector("a");
  summary.setAttribute("aria-label", `Pages below ${page.textContent.trim()}`);
}
// What scrolls sideways can be scrolled with the keyboard.
for (const wide of document.querySelectorAll(".output, .bd-article table.table, math[display=block], pre.columns"))
  if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;

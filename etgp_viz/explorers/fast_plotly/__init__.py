"""Figures that respond quickly: everything here, and nothing elsewhere, uses plotly's internals.

`internals` names each of them and checks that this plotly has it. If one is missing, figures are
plotly's own `FigureWidget`, on which everything works, only more slowly.
"""

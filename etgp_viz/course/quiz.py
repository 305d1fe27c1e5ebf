"""A quiz on a page: questions with one button for each option, and a reply below."""

import html
from collections.abc import Sequence

import ipywidgets as widgets

from etgp_viz.course.questions import Question
from etgp_viz.course.review import answer

__all__ = ["Quiz"]

_WAITING = "<p role='status'></p>"


class Quiz(widgets.VBox):
    """Questions to be answered by a button each; Tab and Space reach all of them."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self.questions = tuple(questions)
        self.replies = {question.id: widgets.HTML(_WAITING) for question in questions}
        super().__init__([self._row(*pair) for pair in enumerate(questions, 1)])

    def _row(self, number: int, question: Question) -> widgets.VBox:
        options = "".join(
            f"<div style='padding-left: 1em'><b>{letter}.</b> {html.escape(text)}</div>"
            for letter, (text, _) in zip(question.letters, question.options, strict=True)
        )
        text = widgets.HTML(
            f"<div style='line-height: 1.5; max-width: 50em'><b>{number}.</b> "
            f"{html.escape(question.text)} <small>(lesson {question.lesson})</small>{options}</div>"
        )
        buttons = []
        for letter, (option, _) in zip(question.letters, question.options, strict=True):
            button = widgets.Button(
                description=letter, tooltip=option, layout={"width": "3em", "height": "2em"}
            )
            button.on_click(lambda _, chosen=letter: self.press(question.id, chosen))
            buttons.append(button)
        return widgets.VBox(
            [text, widgets.HBox(buttons), self.replies[question.id]],
            layout={"margin": "0 0 0.8em 0"},
        )

    def press(self, question_id: str, letter: str) -> None:
        """Answer a question as its button does, and show the reply below it."""
        self.replies[question_id].value = answer(question_id, letter)._repr_html_()

    def __str__(self) -> str:
        blocks = []
        for number, question in enumerate(self.questions, 1):
            options = zip(question.letters, question.options, strict=True)
            lines = [f"{number}. {question.text}  [{question.id}]"]
            blocks.append("\n".join([*lines, *(f"   {a}. {text}" for a, (text, _) in options)]))
        return "\n\n".join(blocks)

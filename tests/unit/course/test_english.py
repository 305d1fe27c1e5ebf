"""How the lessons are written: phrases that must not come back, and a reading level."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

from etgp_viz.course.checking import LESSONS, lesson
from etgp_viz.course.questions import FILE
from tests.unit.course.test_lesson_texts import DOCUMENTS, NOTEBOOKS, ROOT, prose

#: from the guide to how sentences are written here: translated, back to front, or empty
PHRASES = (
    r"by lot\b",
    r"has need of",
    r"(?<!there )\bis no (?!longer)\w+",
    r"(?<!there )\bare no (?!longer)\w+",
    r"other than [\w\s]+ suggests",
    r"by what (number|factor) is",
    r"come out in front",
    r"take their means off",
    r"what ranks know",
    r"live on a plane",
    r"so many of them",
    r"traced anew",
    r"gone on with",
    r"if nothing is said",
    r"every explorer has the same page",
    r"helps, three times",
    r"a fifth more or less",
    r"is no secure",
    r"name of a class and no power",
    r"what to think of them",
    r"somebody (chose|draws)",
    r"brings? home",
    r"needs it not",
    r"within so many",
    r"all else makes",
    r"is one of less",
    r"cannot be had",
    r"times sooner",
    r"\bwherefore\b|\bthereof\b|\bhitherto\b",
)


def words_of(number: str) -> str:
    """Everything of a lesson that is read: prompts, hints, replies, explanations, notes."""
    parts = list(lesson(number).teaching.values())
    for exercise in lesson(number).exercises:
        parts += [exercise.prompt, exercise.explanation, *exercise.hints]
        parts += [mistake.message for mistake in exercise.mistakes.values()]
    return "\n\n".join(parts)


def found(text: str) -> list[str]:
    """Phrases in a text, outside of formulas and code."""
    text = re.sub(r"```.*?```|\$\$.*?\$\$|\$[^$]+\$|`[^`]+`", "", text, flags=re.DOTALL)
    text = re.sub(r"\s+", " ", text)
    return [match[0] for phrase in PHRASES for match in re.finditer(phrase, text, re.IGNORECASE)]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_lesson_reads_as_a_lecturer_talks(path):
    assert found(prose(path)) == []


@pytest.mark.parametrize("number", LESSONS)
def test_exercises_and_notes_do_too(number):
    assert found(words_of(number)) == []


def test_questions_do_too():
    assert found(Path(FILE).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_documents_do_too(path):
    assert found(prose(path)) == []


def test_explorers_and_commands_do_too():
    """Everything in the package that is in quotation marks: stories, messages, docstrings."""
    texts = [
        (path.name, node.value)
        for path in (ROOT / "etgp_viz").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    assert len(texts) > 5000
    assert [(name, hits) for name, text in texts if (hits := found(text))] == []


def test_a_phrase_is_seen():
    assert found("Somebody draws one of them by lot.") == ["by lot", "Somebody draws"]
    assert found("This is no secure grading.") == ["is no secure", "is no secure"]
    assert found("It is no longer there.") == []


# Reading level ------------------------------------------------------------------------------


def sentences(path: Path) -> list[str]:
    """Sentences of the running text: no tables, formulas, headings, code or references."""
    text = prose(path).partition("## References")[0]
    text = re.sub(r"```.*?```|\$\$.*?\$\$", " ", text, flags=re.DOTALL)
    text = re.sub(r"\$[^$]+\$|`[^`]+`", "it", text)
    text = re.sub(r"(?m)^(#|\||<|>).*$", " ", text)
    text = re.sub(r"\]\([^)]*\)|[*\[\]]", "", text)
    parts = re.split(r"(?<=[.?!:;])\s+|\n\s*(?:-|\d+\.)\s|\n\n", text)
    return [part for part in (" ".join(part.split()) for part in parts) if " " in part]


def syllables(word: str) -> int:
    """Roughly: groups of vowels, without a silent e."""
    return max(1, len(re.findall(r"[aeiouy]+", re.sub(r"e\b", "", word.lower()))))


@pytest.mark.parametrize("path", NOTEBOOKS[:-1], ids=lambda path: path.stem)
def test_sentences_can_be_read_aloud(path):
    """Short sentences of common words: Flesch's reading ease of an ordinary newspaper or easier."""
    lengths = np.array([len(sentence.split()) for sentence in sentences(path)])
    assert 7 < lengths.mean() < 18
    assert np.mean(lengths > 40) < 0.02
    words = re.findall(r"[A-Za-z]{2,}", " ".join(sentences(path)))
    ease = 206.8 - 1.015 * lengths.mean() - 84.6 * np.mean([syllables(word) for word in words])
    assert ease > 55.0

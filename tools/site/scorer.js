// The order of search results: pages that answer a question come before pages that mention its words.
var Scorer = {
  score: ([page, , , , score]) => {
    if (/^(guide\/|glossary|start|install|troubleshooting)/.test(page)) return score + 10;
    return /^(api$|lessons\/explorers|changelog|contributing)/.test(page) ? score - 10 : score;
  },
  objNameMatch: 16,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

/** What became of the order to stop a run; the run is named before it. */
export const CANCEL_OUTCOMES = {
  asked: 'was asked to stop',
  'ended-already': 'has already ended',
  settled: 'had lost its host and was settled',
  unanswered:
    'was asked to stop, but its host does not answer: is that process stopped? It obeys once it runs again.',
  'not-driven':
    'was not asked to stop: its host does not drive it now. Another one may be taking it over: try again in a moment.',
} as const;

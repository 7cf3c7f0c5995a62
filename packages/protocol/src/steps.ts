/** The steps of an attempt in their order. A failure names its step by the number. */
export const STEPS = {
  'parse-job': 1,
  'load-adapter': 2,
  'check-inputs': 3,
  'open-stream': 4,
  ready: 5,
  overlay: 6,
  secrets: 7,
  environment: 8,
  setup: 9,
  'open-channel': 10,
  pipeline: 11,
  'close-channel': 12,
  sentinel: 13,
  result: 14,
} as const;
export type StepName = keyof typeof STEPS;

export { loadDriver } from './load-driver.ts';
export { loadHides } from './load-hides.ts';
export { mergeEnv } from './merge-env.ts';
export { concludePreparation, overlayCapabilities, type SetupCommand } from './overlay.ts';
export { checkJob, parseJob, prepareToParse } from './parse-job.ts';
export { placeAnswer } from './place-answer.ts';
export { readSentinel } from './read-sentinel.ts';
export { rehashInputs } from './rehash-inputs.ts';
export { describeSetupFailure, runSetup, runSetupCommand } from './run-setup.ts';

export { runPipeline } from './runner.ts';
export { sealAttempt, type AttemptEnding } from './seal.ts';

export { runPipeline } from './runner.ts';
export { sealAttempt } from './seal.ts';

export { runPipeline } from './runner.ts';
export { writeResult } from './write-result.ts';

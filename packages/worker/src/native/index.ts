export { createAnswers, type Answers } from './answers.ts';
export { sayLine, type NativeLine, type SayLine } from './native-lines.ts';
export { createToolGate, type GatedCall, type ToolGate } from './tool-gate.ts';

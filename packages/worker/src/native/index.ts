export { createAnswers, type Answers } from './answers.ts';
export { printLine, type NativeLine, type PrintLine } from './native-lines.ts';
export { createToolGate, type GatedCall, type ToolGate } from './tool-gate.ts';

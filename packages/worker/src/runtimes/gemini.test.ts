import { describeDriver } from './driver-conformance.ts';
import { gemini } from './gemini.ts';

describeDriver(gemini, { hidesFailedCommands: true });

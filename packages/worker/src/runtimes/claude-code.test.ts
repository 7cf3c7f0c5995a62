import { describeDriver } from './driver-conformance.ts';
import { claudeCode } from './claude-code.ts';

describeDriver(claudeCode);

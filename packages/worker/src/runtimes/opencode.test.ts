import { describeDriver } from './driver-conformance.ts';
import { opencode } from './opencode.ts';

describeDriver(opencode);

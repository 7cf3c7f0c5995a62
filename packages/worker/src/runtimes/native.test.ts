import { describeDriver } from './driver-conformance.ts';
import { native } from './native.ts';

describeDriver(native);

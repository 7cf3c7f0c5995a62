import { describeDriver } from './driver-conformance.ts';
import { pi } from './pi.ts';

describeDriver(pi);

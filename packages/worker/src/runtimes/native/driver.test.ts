import { describeDriver } from '../driver-conformance.ts';
import { native } from './driver.ts';

describeDriver(native);

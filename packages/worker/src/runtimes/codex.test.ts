import { describeDriver } from './driver-conformance.ts';
import { codex } from './codex.ts';

describeDriver(codex, { refusal: 'empty-answer' });

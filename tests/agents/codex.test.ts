import { describeAgent } from './describe-agent.ts';

describeAgent('codex');

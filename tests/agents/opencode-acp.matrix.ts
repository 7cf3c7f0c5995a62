import { describeAgent } from './describe-agent.ts';

describeAgent('opencode-acp');

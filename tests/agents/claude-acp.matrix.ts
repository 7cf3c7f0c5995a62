import { describeAgent } from './describe-agent.ts';

describeAgent('claude-acp');

import { describeAgent } from './describe-agent.ts';

describeAgent('pi');

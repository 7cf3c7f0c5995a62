import { defineCommand } from '../command.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { VERSION } from '../version.ts';

export const command = defineCommand({
  usage: '',
  options: {},
  examples: [
    { line: 'caisson version -o json', says: 'The version together with that of Node and the platform.' },
  ],
  async run({ output }) {
    const value = {
      version: VERSION,
      node: process.versions.node,
      platform: `${process.platform}-${process.arch}`,
    };
    output.result(value, () => [`caisson ${value.version} (Node ${value.node}, ${value.platform})`]);
    return EXIT_CODES.finished;
  },
});

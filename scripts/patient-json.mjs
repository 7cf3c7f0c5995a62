import { readFile } from 'node:fs/promises';

const FILE = /pi-ai[\\/]dist[\\/]utils[\\/]json-parse\.js$/;
const HEAD = 'export function parseStreamingJson(partialJson) {';

/**
 * pi-ai parses a whole tool call again with every piece of it that arrives: minutes for a file of 400 kB. Half a call
 * is not needed here, so a long one is parsed when it may be complete. A call that was cut off stays without arguments,
 * and the model gets that as an error.
 */
export const patientJson = {
  name: 'patient-json',
  setup(pluginBuild) {
    let isApplied = false;
    pluginBuild.onLoad({ filter: FILE }, async ({ path }) => {
      const source = await readFile(path, 'utf8');
      if (!source.includes(HEAD)) throw new Error(`${path} is not as scripts/patient-json.mjs knows it`);
      isApplied = true;
      const patient = `${HEAD}\n    if (partialJson?.length > 16384 && !partialJson.trimEnd().endsWith('}')) return {};`;
      return { contents: source.replace(HEAD, patient), loader: 'js' };
    });
    pluginBuild.onEnd(() => {
      if (isApplied) return null;
      return {
        errors: [{ text: `no file is ${FILE}, which scripts/patient-json.mjs fixes; has it moved?` }],
      };
    });
  },
};

import { readFile } from 'node:fs/promises';

const FILE = /pi-ai[\\/]dist[\\/]utils[\\/]json-parse\.js$/;
const HEAD = 'export function parseStreamingJson(partialJson) {';

/**
 * pi-ai parses all of a tool call anew with every piece of it that arrives: minutes for a file of 400 kB. Nobody looks at
 * half a call here, so a long one is parsed when it may be whole. A call that was cut off stays without arguments, and
 * the model is told so.
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
        errors: [{ text: `no file is ${FILE}, which scripts/patient-json.mjs mends; has it moved?` }],
      };
    });
  },
};

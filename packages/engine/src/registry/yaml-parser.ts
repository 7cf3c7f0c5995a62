/** Our module around the YAML library: bundled, a dynamic import of CommonJS has no named exports. */
export { parseDocument } from 'yaml';

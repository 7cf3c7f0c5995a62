/** The parts of the YAML library we use, as one module that is loaded only when there is a file to read. */
export { isMap, isNode, isScalar, LineCounter, parseDocument, visit } from 'yaml';

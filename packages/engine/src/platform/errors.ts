/** The base of all errors lives in protocol, because it also travels; rooms take it from here or from there. */
export { CaissonError, ErrorInfo, toErrorInfo } from '@caisson/protocol';

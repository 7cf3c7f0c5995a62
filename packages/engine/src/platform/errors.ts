/** The base of all errors is in protocol, because it also crosses processes; rooms import it from either. */
export { CaissonError, ErrorInfo, toErrorInfo } from '@caisson/protocol';

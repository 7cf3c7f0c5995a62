export * from './atomic-file.ts';
export * from './bounded-command.ts';
export * from './clock.ts';
export * from './redactor.ts';

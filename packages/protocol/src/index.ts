export * from './errors.ts';
export * from './ids.ts';
export * from './grant.ts';
export * from './runtimes.ts';

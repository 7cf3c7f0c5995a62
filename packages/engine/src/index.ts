export * from './config/index.ts';
export * from './discovery/index.ts';

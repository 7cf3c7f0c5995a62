export * from './board.ts';
export * from './context-registry.ts';

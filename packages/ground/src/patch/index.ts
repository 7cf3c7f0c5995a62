export * from './clean-room.ts';
export * from './patch.ts';
export { readPreparation, rememberStart, undoLaid, withoutPreparation } from './preparation.ts';

export * from './clean-room.ts';
export * from './patch.ts';
export { readPreparation, rememberStart, undoOverlay, withoutPreparation } from './preparation.ts';

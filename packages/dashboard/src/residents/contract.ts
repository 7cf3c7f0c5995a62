import type { ResidentView, ScheduleView, SenseView, ThreadRow, WorkflowView } from '@caisson/protocol';

export interface Residents {
  readonly residents: readonly ResidentView[];
  readonly senses: readonly SenseView[];
  readonly workflows: readonly WorkflowView[];
  readonly threads: readonly ThreadRow[];
  readonly schedules: readonly ScheduleView[];
}

export interface SectionProps<T> {
  readonly rows: readonly T[];
  onChanged(): void;
}

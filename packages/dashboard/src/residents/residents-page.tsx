import type { ScheduleView, SenseView, ThreadRow, WorkflowView } from '@caisson/protocol';
import { useApp } from '../live/app-context.ts';
import { useAnswer, type Answer } from '../live/use-answer.ts';
import { EmptyState, Loading, ProblemNotice } from '../ui/notices.tsx';
import { ResidentsSection } from './residents-section.tsx';
import { SchedulesSection } from './schedules-section.tsx';
import { SensesSection } from './senses-section.tsx';
import { ThreadsSection } from './threads-section.tsx';
import { WorkflowsSection } from './workflows-section.tsx';
import type { Residents } from './contract.ts';

export function ResidentsPage() {
  const { value, problem, reload } = useResidents();
  return (
    <div className="page">
      <h1>Residents</h1>
      <p className="faint">
        Code of the project that stays: senses look, workflows act, schedules start them.
      </p>
      <ProblemNotice problem={problem} />
      {value === null && problem === null ? <Loading what="the residents" /> : null}
      {value === null ? null : isEmpty(value) ? (
        <NoResidents />
      ) : (
        <>
          <ResidentsSection rows={value.residents} onChanged={reload} />
          <SensesSection rows={value.senses} onChanged={reload} />
          <WorkflowsSection rows={value.workflows} onChanged={reload} />
          <ThreadsSection rows={value.threads} onChanged={reload} />
          <SchedulesSection rows={value.schedules} />
        </>
      )}
    </div>
  );
}

function useResidents(): Answer<Residents> {
  const { client } = useApp();
  const load = async (signal: AbortSignal): Promise<Residents> => {
    const [residents, senses, workflows, threads, schedules] = await Promise.all([
      client.list<Residents['residents'][number]>('/v1/residents', {}, signal),
      client.list<SenseView>('/v1/senses', {}, signal),
      client.list<WorkflowView>('/v1/workflows', {}, signal),
      client.get<ThreadRow[]>('/v1/threads', { newestFirst: true, limit: 50 }, signal),
      client.list<ScheduleView>('/v1/schedules', {}, signal),
    ]);
    return {
      residents: residents.rows,
      senses: senses.rows,
      workflows: workflows.rows,
      threads,
      schedules: schedules.rows,
    };
  };
  return useAnswer('residents', load, ({ type }) =>
    /^(sense|signal|thread|resident|workflow|schedule)\./.test(type),
  );
}

function isEmpty(all: Residents): boolean {
  return Object.values(all).every((rows: readonly unknown[]) => rows.length === 0);
}

function NoResidents() {
  return (
    <EmptyState title="This project has no residents">
      <p>
        A sense is a small file that looks at something and emits signals; a workflow reacts to them and
        starts runs. They are declared in caisson.yaml under <code>senses:</code>, <code>workflows:</code> and{' '}
        <code>schedules:</code>. In a terminal:
      </p>
      <pre className="command">caisson senses list</pre>
    </EmptyState>
  );
}

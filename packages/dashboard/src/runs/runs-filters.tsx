import { useState } from 'react';
import { RUN_STATUS_NAMES, STATUS_GROUPS } from './run-status-names.ts';
import { countFilters, isFiltered, TIMES, type RunsFilter } from './runs-filter.ts';

interface RunsFiltersProps {
  readonly filter: RunsFilter;
  readonly isGrouped: boolean;
  change(changes: Record<string, string | null>): void;
}

/** On a phone all but the search is folded away: the runs are what a person came for. */
export function RunsFilters(props: RunsFiltersProps) {
  const { filter, change } = props;
  const [isOpen, setIsOpen] = useState(false);
  const count = countFilters(filter);
  return (
    <form className="filters" role="search" data-open={isOpen} onSubmit={(event) => event.preventDefault()}>
      <TextFilter name="text" label="Search tasks" value={filter.text} change={change} isSearch />
      <button type="button" className="fold" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
        Filters{count === 0 ? '' : ` (${count})`}
      </button>
      <Choices {...props} />
      {isFiltered(filter) ? (
        <button type="button" className="quiet" onClick={() => change(NOTHING)}>
          Clear filters
        </button>
      ) : null}
    </form>
  );
}

function Choices({ filter, isGrouped, change }: RunsFiltersProps) {
  return (
    <>
      <label className="field">
        Status
        <select value={filter.status.join(',')} onChange={(event) => change({ status: event.target.value })}>
          <option value="">all</option>
          {Object.entries(STATUS_GROUPS).map(([name, statuses]) => (
            <option key={name} value={statuses.join(',')}>
              {name}
            </option>
          ))}
          {RUN_STATUS_NAMES.map((status) => (
            <option key={status}>{status}</option>
          ))}
        </select>
      </label>
      <TextFilter name="agent" label="Agent" value={filter.agent} change={change} />
      <TextFilter name="runtime" label="Runtime" value={filter.runtime} change={change} />
      <TextFilter name="session" label="Session" value={filter.session} change={change} />
      <label className="field">
        Started
        <select value={filter.time} onChange={(event) => change({ time: event.target.value })}>
          <option value="">any time</option>
          {Object.keys(TIMES).map((time) => (
            <option key={time} value={time}>{`last ${time}`}</option>
          ))}
        </select>
      </label>
      <label className="field">
        Order
        <select
          value={filter.order}
          onChange={({ target }) => change({ order: target.value === 'oldest' ? 'oldest' : null })}
        >
          <option value="newest">newest</option>
          <option value="oldest">oldest</option>
        </select>
      </label>
      <label className="check">
        <input
          type="checkbox"
          checked={isGrouped}
          onChange={(event) => change({ group: event.target.checked ? 'session' : null })}
        />
        By session
      </label>
    </>
  );
}

const NOTHING = { status: null, agent: null, runtime: null, session: null, text: null, time: null };

interface TextFilterProps {
  readonly name: string;
  readonly label: string;
  readonly value: string;
  readonly isSearch?: boolean;
  change(changes: Record<string, string | null>): void;
}

function TextFilter({ name, label, value, isSearch = false, change }: TextFilterProps) {
  return (
    <label className="field">
      {label}
      <input
        type="search"
        id={isSearch ? 'search' : undefined}
        value={value}
        onChange={(event) => change({ [name]: event.target.value })}
      />
    </label>
  );
}

/**
 * The filter of a list of tasks: pills for the active filters, and a box that takes words such as `failed queue:mail`, or the id of a
 * task. Words that are not understood are refused beside the box; the caller then shows no list.
 */

import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import {
  type FilterPart,
  isEmptyFilter,
  NO_FILTER,
  parseTyped,
  partOf,
  problemOf,
  SPANS,
  type TaskFilter,
  toggled,
  withParts,
  wordsOf,
} from '../model/filter.ts';
import { TASK_STATES } from '../model/task-states.ts';
import { exactTime } from '../model/time.ts';
import { go, segment } from '../router.tsx';
import { Button } from './buttons.tsx';
import { Icon, StateGlyph } from './icon.tsx';

interface Suggestion {
  readonly name: 'state' | 'queue' | 'handler';
  readonly value: string;
}

export function FilterBar({
  filter,
  onChange,
  onProblem,
  queues,
  handlers,
}: {
  readonly filter: TaskFilter;
  readonly onChange: (filter: TaskFilter) => void;
  /** What was typed and is not understood; undefined: nothing. */
  readonly onProblem: (problem: string | undefined) => void;
  readonly queues: readonly string[];
  readonly handlers: readonly string[];
}) {
  const [text, setText] = useState('');
  const [open, setOpen] = useState(false);
  const [at, setAt] = useState(0);
  const [problem, setProblem] = useState<string>();
  const id = useId();
  const problemId = useId();
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return;
    const outside = (event: Event): void => {
      if (!box.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener('pointerdown', outside);
    return () => document.removeEventListener('pointerdown', outside);
  }, [open]);

  const known = { queues, handlers };
  const typed = parseTyped(text, known);
  // The suggestions are for the last word; the words before it are kept.
  const words = wordsOf(text);
  const last = words.at(-1) ?? '';
  const [, pairName, pairValue = ''] = /^(state|queue|handler):(.*)$/is.exec(last) ?? [];
  const only = pairName?.toLowerCase() as Suggestion['name'] | undefined;
  const lastValue = only === undefined ? last : pairValue;
  const word = lastValue.toLowerCase();
  const of = (name: Suggestion['name'], values: readonly string[]): readonly Suggestion[] =>
    only !== undefined && only !== name
      ? []
      : values
          .filter((value) => value.toLowerCase().includes(word) && !(filter[name] as readonly string[]).includes(value))
          // What is typed in full comes first.
          .sort((a, b) => Number(b.toLowerCase() === word) - Number(a.toLowerCase() === word))
          .map((value) => ({ name, value }));
  const found = [
    ...of('state', TASK_STATES),
    ...of('queue', queues),
    ...of(
      'handler',
      handlers.filter((name) => !queues.includes(name) || only === 'handler'),
    ),
  ].slice(0, 40);
  const own =
    (only === 'queue' || only === 'handler') && lastValue !== '' && !found.some(({ value }) => value === lastValue)
      ? [{ name: only, value: lastValue }]
      : [];
  const suggestions = [...found, ...own];

  const say = (next: string | undefined): void => {
    setProblem(next);
    onProblem(next);
  };
  const write = (next: string): void => {
    setText(next);
    setAt(0);
    say(undefined);
  };
  const apply = (parts: readonly FilterPart[]): void => {
    onChange(withParts(filter, parts));
    write('');
    setOpen(false);
  };
  const refuse = (unknown: readonly string[]): void => {
    say(problemOf(unknown));
    setOpen(false);
  };
  const add = (suggestion: Suggestion): void => {
    const before = words.slice(0, -1);
    const parts = before.map((one) => partOf(one, known));
    const unknown = before.filter((_, i) => parts[i] === undefined);
    if (unknown.length > 0) refuse(unknown);
    else apply([...parts.filter((part) => part !== undefined), suggestion]);
  };
  const enter = (): void => {
    const suggested = open || word !== '' ? suggestions[at] : undefined;
    if (typed.kind === 'task') go(`/tasks/${segment(typed.id)}`);
    else if (typed.kind === 'filter' && (words.length > 1 || suggested === undefined)) apply(typed.parts);
    else if (suggested !== undefined) add(suggested);
    else if (words.length > 0) refuse(typed.kind === 'unknown' ? typed.words : words);
  };
  const press = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      setOpen(true);
      setAt((before) => Math.min(suggestions.length - 1, Math.max(0, before + (event.key === 'ArrowDown' ? 1 : -1))));
    } else if (event.key === 'Enter') {
      event.preventDefault();
      enter();
    } else if (event.key === 'Escape') {
      if (open) setOpen(false);
      else (event.target as HTMLElement).blur();
    } else if (event.key === 'Backspace' && text === '') {
      const last = (['handler', 'queue', 'state'] as const).find((name) => filter[name].length > 0);
      if (last !== undefined) onChange({ ...filter, [last]: filter[last].slice(0, -1) });
    }
  };
  return (
    <div className="filterbar">
      <div className="combo" ref={box}>
        <Icon name="search" size={14} />
        <input
          data-filter
          className="input"
          role="combobox"
          aria-label="Filter by state, queue or handler, or go to a task by its id"
          aria-expanded={open}
          aria-controls={id}
          aria-activedescendant={open && suggestions[at] ? `${id}-${at}` : undefined}
          aria-invalid={problem !== undefined}
          aria-describedby={problem === undefined ? undefined : problemId}
          placeholder="Filter: failed queue:mail, or task_…"
          autoComplete="off"
          spellCheck={false}
          value={text}
          onFocus={() => setOpen(true)}
          onChange={(event) => {
            write(event.target.value);
            setOpen(true);
          }}
          onKeyDown={press}
        />
        {text === '' && <kbd>/</kbd>}
        {open && suggestions.length > 0 && (
          <ul className="list" role="listbox" id={id} aria-label="Filters">
            {suggestions.map((one, i) => (
              <li
                key={`${one.name} ${one.value}`}
                id={`${id}-${i}`}
                role="option"
                aria-selected={i === at}
                onPointerEnter={() => setAt(i)}
                onClick={() => add(one)}
              >
                {one.name === 'state' ? (
                  <span className={`state s-${one.value}`}>
                    <StateGlyph state={one.value} />
                    {one.value}
                  </span>
                ) : (
                  <span className="cut grow">{one.value}</span>
                )}
                {one.name !== 'state' && <span className="quiet">{one.name}</span>}
              </li>
            ))}
          </ul>
        )}
      </div>
      {problem !== undefined && (
        <p className="filter-problem" role="alert" id={problemId}>
          {problem}
        </p>
      )}
      <select
        className="input"
        style={{ width: 'auto' }}
        aria-label="Creation time"
        value={filter.last ?? (filter.from !== undefined || filter.until !== undefined ? 'chosen' : '')}
        onChange={(event) => {
          const { from: _, until: __, last: ___, ...rest } = filter;
          onChange(Object.hasOwn(SPANS, event.target.value) ? { ...rest, last: event.target.value } : rest);
        }}
      >
        <option value="">Any time</option>
        {Object.keys(SPANS).map((span) => (
          <option key={span} value={span}>
            Last {span}
          </option>
        ))}
        {(filter.from !== undefined || filter.until !== undefined) && <option value="chosen">Selected range</option>}
      </select>
      {(['state', 'queue', 'handler'] as const).flatMap((name) =>
        filter[name].map((value) => (
          <span key={`${name} ${value}`} className="pill">
            <span>{name}</span>
            <b className="cut">{value}</b>
            <button
              type="button"
              aria-label={`Remove ${name} ${value}`}
              onClick={() => onChange(toggled(filter, name, value))}
            >
              <Icon name="close" size={12} />
            </button>
          </span>
        )),
      )}
      {(filter.from !== undefined || filter.until !== undefined) && (
        <span className="pill">
          <span>created</span>
          <b className="cut">
            {filter.from === undefined ? '…' : exactTime(filter.from).slice(5, 19)} –{' '}
            {filter.until === undefined ? '…' : exactTime(filter.until).slice(5, 19)}
          </b>
          <button
            type="button"
            aria-label="Remove the creation time"
            onClick={() => {
              const { from: _, until: __, ...rest } = filter;
              onChange(rest);
            }}
          >
            <Icon name="close" size={12} />
          </button>
        </span>
      )}
      {!isEmptyFilter(filter) && (
        <Button kind="plain" small onClick={() => onChange(NO_FILTER)}>
          Clear
        </Button>
      )}
    </div>
  );
}

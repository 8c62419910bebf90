/** The diagram of a machine: its states, which of them it has visited, in which it is, and where each leads. */

import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from 'react';
import {
  type DiagramState,
  layoutDiagram,
  type PlacedState,
  STATE_HEIGHT,
  STATE_WIDTH,
} from '../../model/run/diagram.ts';
import { Panel } from '../../ui/layout.tsx';

export function Diagram({
  states,
  current,
  tone,
  lit,
  onHover,
  onChoose,
}: {
  readonly states: readonly DiagramState[];
  readonly current: string | undefined;
  /** The state of the run, in whose colour the current state is. */
  readonly tone: string;
  /** States of the row under the pointer. */
  readonly lit: ReadonlySet<string>;
  readonly onHover: (state: string | undefined) => void;
  readonly onChoose: (state: string) => void;
}) {
  // Visits change all the time, the layout does not.
  const shape = JSON.stringify(states.map((state) => ({ ...state, visits: 0 })));
  const layout = useMemo(() => layoutDiagram(JSON.parse(shape) as readonly DiagramState[]), [shape]);
  const [shown, setShown] = useState<string>();
  const box = useRef<HTMLDivElement>(null);
  const byName = new Map(states.map((state) => [state.name, state]));
  useEffect(() => {
    const at = layout.states.find(({ name }) => name === current);
    const element = box.current;
    if (at === undefined || element === null || element.scrollWidth <= element.clientWidth) return;
    const scale = element.scrollWidth / layout.width;
    element.scrollTo({ left: (at.x + STATE_WIDTH / 2) * scale - element.clientWidth / 2 });
  }, [layout, current]);
  const look = (name: string | undefined): void => {
    setShown(name);
    onHover(name);
  };
  const about = byName.get(shown ?? current ?? '') ?? states[0];
  return (
    <Panel title="States" count={states.length}>
      <div className="diagram" ref={box}>
        <svg
          width={layout.width}
          height={layout.height}
          viewBox={`0 0 ${layout.width} ${layout.height}`}
          role="group"
          aria-label="Diagram of the states"
          style={{ minWidth: Math.min(layout.width, Math.max(layout.width * 0.72, 340)) }}
        >
          <defs>
            {['next', 'error', 'on'].map((kind) => (
              <marker
                key={kind}
                id={`arrow-${kind}`}
                className={`arrow ${kind}`}
                viewBox="0 0 8 8"
                refX="7"
                refY="4"
                markerWidth="7"
                markerHeight="7"
                orient="auto"
              >
                <path d="M0 0.5 8 4 0 7.500z" />
              </marker>
            ))}
          </defs>
          {layout.edges.map(({ from, to, error, back, joins, path }) => {
            const on = shown === from;
            return (
              <g
                key={`${from} ${to}`}
                className={`edge ${error ? 'error' : ''} ${back ? 'back' : ''} ${on ? 'on' : ''}`}
              >
                <path d={path} markerEnd={joins ? undefined : `url(#arrow-${on ? 'on' : error ? 'error' : 'next'})`} />
                <path className="hit" d={path} onMouseEnter={() => look(from)} onMouseLeave={() => look(undefined)}>
                  <title>{edgeText(byName.get(from), to, error)}</title>
                </path>
              </g>
            );
          })}
          {layout.states.map((placed) => (
            <StateBox
              key={placed.name}
              placed={placed}
              of={byName.get(placed.name) as DiagramState}
              here={placed.name === current}
              tone={tone}
              lit={lit.has(placed.name)}
              onLook={look}
              onChoose={onChoose}
            />
          ))}
        </svg>
      </div>
      <p className="diagram-about" aria-live="off">
        {about === undefined ? '' : <Leads of={about} />}
      </p>
    </Panel>
  );
}

function StateBox({
  placed: { name, x, y },
  of: state,
  here,
  tone,
  lit,
  onLook,
  onChoose,
}: {
  readonly placed: PlacedState;
  readonly of: DiagramState;
  readonly here: boolean;
  readonly tone: string;
  readonly lit: boolean;
  readonly onLook: (name: string | undefined) => void;
  readonly onChoose: (name: string) => void;
}) {
  const { visits, type, does } = state;
  const marks = `${here ? `here s-${tone}` : ''} ${visits > 0 ? 'visited' : ''} ${lit ? 'lit' : ''} ${type}`;
  const onKey = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    onChoose(name);
  };
  return (
    <g
      transform={`translate(${x} ${y})`}
      className={`box ${marks}`}
      role="button"
      tabIndex={0}
      onMouseEnter={() => onLook(name)}
      onMouseLeave={() => onLook(undefined)}
      onFocus={() => onLook(name)}
      onBlur={() => onLook(undefined)}
      onClick={() => onChoose(name)}
      onKeyDown={onKey}
    >
      <rect width={STATE_WIDTH} height={STATE_HEIGHT} rx={type === 'state' ? 8 : STATE_HEIGHT / 2} />
      {type === 'final' && (
        <rect
          className="inner"
          x="3"
          y="3"
          width={STATE_WIDTH - 6}
          height={STATE_HEIGHT - 6}
          rx={STATE_HEIGHT / 2 - 3}
        />
      )}
      {here && <circle className="pulse" cx="15" cy={STATE_HEIGHT / 2} r="4" />}
      <text x={here ? 26 : 16} y={does === '' || does === 'nothing' ? 27 : 19}>
        {cut(name, visits > 0 ? 13 : 16)}
      </text>
      {does !== '' && does !== 'nothing' && (
        <text x={here ? 26 : 16} y="34" className="sub">
          {cut(does, 17)}
        </text>
      )}
      {visits > 0 && (
        <g className="visits" transform={`translate(${STATE_WIDTH - 14} 14)`}>
          <rect x={-visitsWidth(visits)} y="-8" width={visitsWidth(visits) + 4} height="16" rx="8" />
          <text x={2 - visitsWidth(visits) / 2} y="3.5" textAnchor="middle">
            {visits.toLocaleString('en')}
          </text>
        </g>
      )}
      <title>{`${name}, ${doesText(state)}, ${visitsText(visits)}${here ? ', the machine is here' : ''}`}</title>
    </g>
  );
}

const visitsWidth = (visits: number): number => 10 + 6 * String(visits).length;

/** Where a state leads, in one line that has its place also while nothing is chosen. */
function Leads({ of: state }: { readonly of: DiagramState }) {
  const { name, to, onError, visits } = state;
  return (
    <>
      <b>{name}</b> {doesText(state)}, {visitsText(visits)}.
      {to.map(({ state: next, condition }, i) => (
        <span key={`${next} ${i}`}>
          {' '}
          → {next} {condition === undefined ? to.length > 1 ? 'otherwise' : '' : <code>{condition}</code>}
          {i < to.length - 1 ? ',' : ''}
        </span>
      ))}
      {onError.length > 0 && <span className="bad"> On error → {onError.join(', ')}</span>}
    </>
  );
}

function edgeText(from: DiagramState | undefined, to: string, error: boolean): string {
  const conditions = (from?.to ?? []).filter(({ state }) => state === to).map(({ condition }) => condition);
  const when = error ? 'on error' : conditions.map((one) => one ?? 'otherwise').join(', or ');
  return `${from?.name} → ${to}${conditions.length === 1 && conditions[0] === undefined && from?.to.length === 1 ? '' : `: ${when}`}`;
}

const DOES: Readonly<Record<string, string>> = {
  action: 'does an action',
  agent: 'asks an agent',
  machine: 'runs machines',
  launch: 'launches machines',
  wait: 'waits',
};

function doesText({ does, type }: DiagramState): string {
  const what = DOES[does] ?? 'does nothing';
  return type === 'state' ? what : `${type} state, ${what}`;
}

const visitsText = (visits: number): string =>
  visits === 0 ? 'not visited' : visits === 1 ? 'visited once' : `visited ${visits.toLocaleString('en')} times`;

const cut = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

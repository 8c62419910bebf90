import type { Place, Runner, SceneName } from './part.ts';

export interface RunsContender {
  readonly name: string;
  readonly stores: readonly ('sqlite' | 'postgres')[];
  /** Runs of a measure: a second or two of work. */
  readonly runs: Readonly<Record<SceneName, number>>;
  readonly open: (place: Place) => Promise<Runner>;
}

export const MACHINE = 'machine';
export const WORKFLOW = 'workflow';
export const CTX_STEP = 'ctx.step';
export const DBOS = 'dbos';
export const OPENWORKFLOW = 'openworkflow';
export const SINGLE = 'floor single';
export const BATCH = 'floor batch';
export const PEERS: readonly string[] = [DBOS, OPENWORKFLOW];

const BOTH = ['sqlite', 'postgres'] as const;

/** In the order of the table's columns. Each is loaded only where it is opened: none carries the others. */
export const contenders: readonly RunsContender[] = [
  {
    name: MACHINE,
    stores: BOTH,
    runs: { many: 960, lone: 40 },
    open: async (place) => (await import('./contenders/machine.ts')).openMachine(place),
  },
  {
    name: WORKFLOW,
    stores: BOTH,
    runs: { many: 960, lone: 40 },
    open: async (place) => (await import('./contenders/workflow.ts')).openWorkflow(place),
  },
  {
    name: CTX_STEP,
    stores: BOTH,
    runs: { many: 960, lone: 40 },
    open: async (place) => (await import('./contenders/steps.ts')).openSteps(place),
  },
  {
    name: DBOS,
    stores: ['postgres'],
    runs: { many: 160, lone: 20 },
    open: async (place) => (await import('./contenders/dbos.ts')).openDbos(place),
  },
  {
    name: OPENWORKFLOW,
    stores: BOTH,
    runs: { many: 160, lone: 20 },
    open: async (place) => (await import('./contenders/openworkflow.ts')).openOpenworkflow(place),
  },
  {
    name: SINGLE,
    stores: BOTH,
    runs: { many: 320, lone: 40 },
    open: async (place) => (await import('./contenders/floor.ts')).openSingle(place),
  },
  {
    name: BATCH,
    stores: BOTH,
    runs: { many: 1280, lone: 40 },
    open: async (place) => (await import('./contenders/floor.ts')).openBatch(place),
  },
];

import { z } from 'zod';
import { isEngineError } from '../../../core/errors.ts';
import { checkWorkerId } from '../../../core/names.ts';
import { normalizePermissions } from '../../../core/placement/permissions.ts';
import type { Entry } from '../../../core/settings/compare.ts';
import type { RequestOf } from '../../../protocol/paths.ts';
import { WorkerEdit } from '../../../protocol/shapes/worker.ts';
import type { Caller } from '../../operator.ts';
import { refuseCredentials } from '../../tags/given-tags.ts';
import type { WorkerSettingView } from '../../views.ts';
import { inShape, plain } from '../read-entry.ts';
import type { SettingsKind } from '../settings-kind.ts';

const { queues, slots, permissions } = WorkerEdit.shape;
const Worker = z.strictObject({
  enabled: z.boolean().default(true),
  priority: z.number().int().optional(),
  tags: z.array(z.string()).max(100).default([]),
  handlers: z.union([z.literal('any'), z.array(z.string()).max(1000)]).optional(),
  queues: queues.unwrap().unwrap().optional(),
  slots: slots.unwrap().unwrap().optional(),
  permissions: permissions.unwrap().unwrap().optional(),
});

type Edit = RequestOf<'editWorker'>;

/** Settings of workers by name. No secret is in a file: a new one is told the code that it joins with, once. */
export const WORKERS: SettingsKind = {
  word: 'workers',
  // Which handlers it may run is decided when it first joins, unless somebody says it.
  keeps: ['handlers'],

  read(name, value) {
    checkWorkerId('worker name', name);
    const {
      enabled,
      tags,
      handlers,
      queues: own,
      permissions: may,
      ...rest
    } = inShape(Worker, `workers.${name}`, value ?? {});
    refuseCredentials(`workers.${name}.tags`, tags);
    return entryOf({
      ...rest,
      enabled,
      tags,
      handlers,
      queues: own,
      permissions: may === undefined ? undefined : normalizePermissions(may),
    });
  },

  async list(caller, named) {
    const { workers, settings } = await caller.call('listWorkers');
    const found = new Map(settings.map((setting) => [setting.name, settingEntry(setting)]));
    const processes = new Set(workers.map(({ name }) => name));
    for (const name of named)
      if (!found.has(name) && (processes.has(name) || (await isKnown(caller, name)))) found.set(name, {});
    return new Map([...found].filter(([name, entry]) => named.has(name) || Object.keys(entry).length > 0));
  },

  async put(caller, { name, wanted, is, by }) {
    const { enabled, tags = [], handlers, ...rest } = wanted as WorkerEntry;
    if (is === undefined) {
      const body = { name, ...rest, tags, ...handlersOf(handlers), code: true };
      const { join } = await caller.call('createWorker', { body, by });
      if (enabled === false) await caller.call('editWorker', { params: { name }, body: { enabled }, by });
      return { join };
    }
    const before = (is as WorkerEntry).tags ?? [];
    const body: Edit = {
      enabled: enabled ?? true,
      priority: rest.priority ?? null,
      addTags: tags.filter((tag) => !before.includes(tag)),
      removeTags: before.filter((tag) => !tags.includes(tag)),
      ...handlersOf(handlers),
      queues: rest.queues ?? null,
      slots: rest.slots ?? null,
      permissions: rest.permissions ?? null,
    };
    await caller.call('editWorker', { params: { name }, body, by });
    return undefined;
  },

  remove: (caller, name, by) => caller.call('removeWorker', { params: { name }, by }),
};

interface WorkerEntry {
  readonly enabled?: boolean;
  readonly priority?: number;
  readonly tags?: readonly string[];
  readonly handlers?: 'any' | readonly string[];
  readonly queues?: readonly string[];
  readonly slots?: number;
  readonly permissions?: NonNullable<Edit['permissions']>;
}

/** Nothing said leaves them as they are: decided when the worker first joins, or before. */
function handlersOf(handlers: WorkerEntry['handlers']): Pick<Edit, 'handlers'> {
  return handlers === undefined ? {} : { handlers: handlers === 'any' ? null : handlers };
}

function settingEntry({ enabled, priority, tags, grant = {} }: WorkerSettingView): Entry {
  const { anyHandler, handlers, queues: own, slots: most, permissions: may } = grant;
  return entryOf({
    enabled,
    priority,
    tags,
    handlers: anyHandler ? 'any' : handlers,
    queues: own,
    slots: most,
    permissions: may,
  });
}

function entryOf(given: { readonly [K in keyof WorkerEntry]?: unknown }): Entry {
  const { enabled, tags, handlers, queues: own, ...rest } = given;
  const sorted = (list: unknown): unknown => (Array.isArray(list) ? [...new Set(list as string[])].sort() : list);
  return plain({
    ...rest,
    ...(enabled === false ? { enabled } : {}),
    ...((tags as readonly string[] | undefined)?.length === 0 ? {} : { tags: sorted(tags) }),
    handlers: sorted(handlers),
    queues: sorted(own),
  });
}

/** It has a secret, or a code for one. */
async function isKnown(caller: Caller, name: string): Promise<boolean> {
  try {
    await caller.call('getWorker', { params: { name } });
    return true;
  } catch (error) {
    if (isEngineError(error, 'NOT_FOUND')) return false;
    throw error;
  }
}

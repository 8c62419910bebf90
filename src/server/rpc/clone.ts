import { randomUUID } from 'node:crypto';
import { subtreeOf } from '../../core/graph/document.ts';
import type { Document, DocumentDraft } from '../../engine/trees/documents.ts';
import type { RpcHandlers } from './context.ts';
import { RpcProblem } from './problems.ts';
import { idOf } from './task-names.ts';
import { statusOf } from './view.ts';
import { nested, write } from './write.ts';

type Kind = 'copy' | 'link' | 'archive';

export const cloneMethods: RpcHandlers<'tasks.clone'> = {
  async 'tasks.clone'(call) {
    const { engine, params } = call;
    const id = idOf(params);
    const tree = await engine.documents.tree(id);
    const nodes = tree.map((one) => ({ ...one, dependencies: one.body.dependencies }));
    const sources = subtreeOf(nodes, id);
    const drafts = clonesOf(sources, params.origin_type);
    return nested(call, await write(call, drafts));
  },
};

/** A new tree. A link shows the later results of its source, an archive the result so far; a copy can be executed. */
function clonesOf(sources: readonly Document[], kind: Kind): readonly DocumentDraft[] {
  const open = kind === 'copy' ? undefined : sources.find((one) => statusOf(one) !== 'completed');
  if (open !== undefined) {
    throw new RpcProblem('transition', `a ${kind} needs completed tasks, and ${open.id} is ${statusOf(open)}`);
  }
  const ids = new Map(sources.map(({ id }) => [id, randomUUID() as string]));
  return sources.map((source, i) => {
    const { id, parent, user, body, task, shows } = source;
    const outside = body.dependencies.find((need) => !ids.has(need.id));
    if (outside !== undefined) {
      throw new RpcProblem('reference', `the task ${id} depends on ${outside.id}, which is not cloned with it`);
    }
    return {
      id: ids.get(id) as string,
      parent: i === 0 ? undefined : ids.get(parent as string),
      user,
      body: {
        ...body,
        dependencies: body.dependencies.map((need) => ({ ...need, id: ids.get(need.id) as string })),
        origin: { type: kind, id },
      },
      ...(kind === 'link' || shows !== undefined ? (kind === 'copy' ? {} : { shows: shows ?? id }) : {}),
      ...(kind === 'archive' && shows === undefined ? { task } : {}),
    };
  });
}

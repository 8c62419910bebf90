import { z } from 'zod';
import { type Route, route } from '../route.ts';
import { RemovedTag, RenamedTag, Tag, TagInput } from '../shapes/tag.ts';
import { API, oneTag } from './address.ts';

/** Tags of workers, which tasks require. */
export const TAG_ROUTES = {
  listTags: route({
    method: 'GET',
    path: `${API}/tags`,
    access: 'read',
    does: 'Tags, where each is used, and those that tasks require and no worker has',
    answer: z.object({ tags: z.array(Tag).readonly() }),
  }),
  createTag: route({
    method: 'POST',
    path: `${API}/tags`,
    access: 'operator',
    does: 'Makes a tag, which is listed also while nobody carries it; refused if there is one of that name',
    body: TagInput,
    answer: Tag,
    status: 201,
  }),
  renameTag: route({
    method: 'PATCH',
    path: `${API}/tags/{name}`,
    access: 'operator',
    does: 'Gives a tag another name, at all workers that were given it, and tells what still names the old one',
    params: oneTag,
    body: TagInput,
    answer: RenamedTag,
  }),
  removeTag: route({
    method: 'DELETE',
    path: `${API}/tags/{name}`,
    access: 'operator',
    does: 'Removes a tag; refused while it is used, unless force takes it from the workers that were given it',
    params: oneTag,
    query: z.strictObject({ force: z.enum(['0', '1']).optional() }),
    answer: RemovedTag,
  }),
} as const satisfies Record<string, Route>;

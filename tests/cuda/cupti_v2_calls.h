/* SPDX-License-Identifier: Apache-2.0
 * cupti_v2_calls.h - functions of the stand-in's second interface (cupti_v2.h). */

/* Who was there before: "name:1", "name:0" or ":v1". */
static bool was_refused(CUpti_SubscriberParams *how)
{
    const char *first = getenv("STANDIN_FIRST");
    const char *colon = first ? strrchr(first, ':') : NULL;
    const bool  is_v1 = interface_used == 1 || (colon && strcmp(colon, ":v1") == 0);

    if (colon && !is_v1)
        shared_state = (uint8_t)(colon[1] - '0');
    if (colon && how->oldSubscriberName && how->oldSubscriberSize)
        snprintf(how->oldSubscriberName, how->oldSubscriberSize, "%.*s", (int)(colon - first), first);
    if (is_v1 || subscriber)
        return true;
    return shared_state != 2 && (!shared_state || !how->allowMultipleSubscribers);
}

API CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc call, void *user,
                                           CUpti_SubscriberParams *how)
{
    BEGIN(how ? how->allowMultipleSubscribers : -1);
    if (!handle || !how || how->structSize != CUpti_SubscriberParams_STRUCT_SIZE)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (was_refused(how)) {
        say("cuptiSubscribe_v2 is refused");
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    }
    interface_used = 2;
    is_shared = how->allowMultipleSubscribers;
    shared_state = is_shared;
    subscriber = call;
    subscriber_user = user;
    *handle = (CUpti_SubscriberHandle)(uintptr_t)&subscriber;
    return CUPTI_SUCCESS;
}

/* The last one has gone: either interface may begin anew. */
static void forget_second(void)
{
    if (interface_used != 2)
        return;
    for (int kind = 0; kind < OP_KINDS; kind++)
        enabled[kind] = false;
    any_enabled = false;
    requested = NULL;
    user_defined = 0;
    clock_of = NULL;
    memset(selected, 0, sizeof selected);
    memset(call_is_off, 0, sizeof call_is_off);
    shared_state = setting("STANDIN_STICKY") ? shared_state : 2;
    interface_used = 0;
}

static bool is_known(CUpti_SubscriberHandle handle)
{
    return interface_used == 2 && (void *)handle == (void *)&subscriber;
}

API CUptiResult CUPTIAPI cuptiActivityGetAttribute_v2(CUpti_SubscriberHandle handle, CUpti_ActivityAttribute attribute,
                                                      size_t *size, void *value)
{
    const char *first = getenv("STANDIN_FIRST");
    const char *colon = first ? strrchr(first, ':') : NULL;

    (void)handle;
    BEGIN(attribute);
    if ((int)attribute != CUPTI_ACTIVITY_ATTR_MULTIPLE_SUBSCRIBER_STATE || !size || *size != 1)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *(uint8_t *)value = colon && colon[1] != 'v' ? (uint8_t)(colon[1] - '0') : shared_state;
    return CUPTI_SUCCESS;
}

API CUptiResult CUPTIAPI cuptiActivitySetAttribute_v2(CUpti_SubscriberHandle handle, CUpti_ActivityAttribute attribute,
                                                      size_t *size, void *value)
{
    BEGIN(attribute);
    if (!is_known(handle) || !size || !value)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (any_enabled)
        say("MISUSE attribute %d is set after a kind was enabled", (int)attribute);
    switch ((int)attribute) {
    case CUPTI_ACTIVITY_ATTR_USER_DEFINED_RECORDS:
        user_defined = *(uint8_t *)value;
        return *size == 1 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
    case CUPTI_ACTIVITY_ATTR_ENABLE_MULTI_SUBSCRIBER_GRAPH_TRACE:
        if (is_shared && whole_graphs != 2 && whole_graphs != *(uint8_t *)value)
            return CUPTI_ERROR_INVALID_OPERATION;
        whole_graphs = is_shared ? *(uint8_t *)value : whole_graphs;
        return *size == 1 ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
    case CUPTI_ACTIVITY_ATTR_THREAD_ID_TYPE:
        thread_ids = *(int *)value;
        return *size == sizeof thread_ids ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
    case CUPTI_ACTIVITY_ATTR_TIMESTAMP_CALLBACK:
        if (*size != sizeof clock_of)
            return CUPTI_ERROR_INVALID_PARAMETER;
        if (is_shared && (CUPTI_API_VERSION < 130400 || setting("STANDIN_NO_SHARED_CLOCK")))
            return CUPTI_ERROR_NOT_SUPPORTED;
        memcpy(&clock_of, value, sizeof clock_of);
        start_clock();
        return CUPTI_SUCCESS;
    default:
        return CUPTI_ERROR_INVALID_PARAMETER;
    }
}

API CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks_v2(CUpti_SubscriberHandle               handle,
                                                           CUpti_BuffersCallbackRequestFunc_v2  request,
                                                           CUpti_BuffersCallbackCompleteFunc_v2 complete)
{
    BEGIN(0);
    if (!is_known(handle) || !request || !complete)
        return CUPTI_ERROR_INVALID_PARAMETER;
    requested_2 = request;
    completed_2 = complete;
    requested = ask_for_buffer;
    completed = hand_over;
    return CUPTI_SUCCESS;
}

static const field_source *source_of(int kind, int number)
{
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (sources[i].kind == (kind == OP_DRIVER ? OP_RUNTIME : kind) && sources[i].number == number)
            return &sources[i];
    return NULL;
}

/* False: it is no selection that the interface takes. */
static bool select_fields(int kind, const CUpti_ActivityFieldSelection *wanted)
{
    size_t at = 0, widest = 8;

    if (wanted->structSize != sizeof *wanted || wanted->numFields == 0 || wanted->numFields > MOST_SELECTED ||
        wanted->pFieldIds[0] != 0)
        return false;
    if (kinds[kind].size == 0)
        return true;
    if (enabled[kind]) {
        for (size_t i = 0; i < wanted->numFields; i++)
            if (i >= selected[kind].n || selected[kind].entries[i].fieldId != wanted->pFieldIds[i])
                say("MISUSE other fields of kind %d while it is enabled", kind);
        return true;
    }
    for (size_t i = 0; i < wanted->numFields; i++) {
        const field_source             *from = source_of(kind, wanted->pFieldIds[i]);
        CUpti_ActivityFieldLayoutEntry *e = &selected[kind].entries[i];

        if (!from) {
            say("MISUSE field %d of kind %d is not known here", wanted->pFieldIds[i], kind);
            return false;
        }
        at = (at + from->bytes - 1) / from->bytes * from->bytes;
        *e = (CUpti_ActivityFieldLayoutEntry){sizeof *e, wanted->pFieldIds[i], at, from->bytes, from->bytes};
        selected[kind].from[i] = from->from;
        selected[kind].from_bytes[i] = from->from_bytes;
        at += from->bytes;
    }
    selected[kind].n = wanted->numFields;
    selected[kind].bytes = (at + widest - 1) / widest * widest;
    say("selected %d: %zu fields, %zu bytes", kind, selected[kind].n, selected[kind].bytes);
    return true;
}

#if CUPTI_API_VERSION >= 130400
static void choose_calls(int kind, const CUpti_ActivityConfig *config)
{
    const int                           domain = kind == OP_DRIVER ? CB_DRIVER : CB_RUNTIME;
    const CUpti_ActivityApiOptions     *options = config->structSize > offsetof(CUpti_ActivityConfig, pKindOptions)
                                                      ? config->pKindOptions
                                                      : NULL;
    const CUpti_ActivityApiCbidOptions *calls = options ? options->pCbidOptions : NULL;

    if (kind != OP_DRIVER && kind != OP_RUNTIME)
        return;
    if (options && (options->structSize != sizeof *options || !calls || calls->structSize != sizeof *calls))
        say("MISUSE options of kind %d without their sizes", kind);
    memset(call_is_off[domain], calls && calls->enable, sizeof call_is_off[domain]);
    for (size_t i = 0; calls && i < calls->numCbids; i++)
        if (calls->pCbids[i] < CALLS)
            call_is_off[domain][calls->pCbids[i]] = !calls->enable;
    if (calls)
        say("%s of kind %d: %zu calls", calls->enable ? "only" : "all but", kind, calls->numCbids);
}
#endif

static CUptiResult enable_2(CUpti_SubscriberHandle handle, int kind, const CUpti_ActivityConfig *config)
{
    if (!is_known(handle))
        return CUPTI_ERROR_INVALID_PARAMETER;
    if ((unsigned)kind >= OP_KINDS)
        return CUPTI_ERROR_INVALID_KIND;
    if (!requested)
        say("MISUSE kind %d is enabled before there is a callback for buffers", kind);
    if (!user_defined || !config)
        say("MISUSE kind %d is enabled without a choice of fields", kind);
    if (!config || config->structSize < offsetof(CUpti_ActivityConfig, fieldSelection) + sizeof config->fieldSelection ||
        config->structSize > sizeof *config || !select_fields(kind, &config->fieldSelection))
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (kind == OP_GRAPH && is_shared && whole_graphs != 1)
        return CUPTI_ERROR_NOT_COMPATIBLE;
#if CUPTI_API_VERSION >= 130400
    choose_calls(kind, config);
#endif
    enabled[kind] = any_enabled = true;
    return CUPTI_SUCCESS;
}

API CUptiResult CUPTIAPI cuptiActivityEnable_v2(CUpti_SubscriberHandle handle, CUpti_ActivityKind kind,
                                                CUpti_ActivityConfig *config)
{
    CUptiResult code;

    BEGIN(kind);
    code = enable_2(handle, (int)kind, config);
    if (code == CUPTI_SUCCESS && ((int)kind == OP_DEVICE || (int)kind == OP_CONTEXT))
        dump((int)kind);
    return code;
}

API CUptiResult CUPTIAPI cuptiActivityEnableAndDump_v2(CUpti_SubscriberHandle handle, CUpti_ActivityKind kind,
                                                       CUpti_ActivityConfig *config)
{
    CUptiResult code;

    BEGIN(kind);
    code = enable_2(handle, (int)kind, config);
    if (code == CUPTI_SUCCESS)
        dump((int)kind);
    return code;
}

API CUptiResult CUPTIAPI cuptiActivityDisable_v2(CUpti_SubscriberHandle handle, CUpti_ActivityKind kind,
                                                 CUpti_ActivityConfig *config)
{
    (void)config;
    BEGIN(kind);
    if (!is_known(handle) || (unsigned)kind >= OP_KINDS)
        return CUPTI_ERROR_INVALID_KIND;
    enabled[kind] = false;
    return CUPTI_SUCCESS;
}

API CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords_v2(CUpti_SubscriberHandle handle, CUcontext context,
                                                              uint32_t stream, size_t *number)
{
    (void)context;
    (void)stream;
    BEGIN(0);
    return is_known(handle) ? tell_drops(number) : CUPTI_ERROR_INVALID_PARAMETER;
}

API CUptiResult CUPTIAPI cuptiActivityGetNextRecord_v2(CUpti_SubscriberHandle handle, uint8_t *bytes, size_t valid,
                                                       CUpti_Activity **record)
{
    hang_if_planned("cuptiActivityGetNextRecord_v2");
    return is_known(handle) ? next_record(bytes, valid, record) : CUPTI_ERROR_INVALID_PARAMETER;
}

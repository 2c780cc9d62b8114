package httperr

import "net/http"

// Code names a kind of failure in problem documents. Programs branch on it; it never changes its meaning.
type Code string

// The codes. The table below gives each its status and its text.
const (
	BadRequest           Code = "bad_request"
	InvalidParameter     Code = "invalid_parameter"
	UnknownParameter     Code = "unknown_parameter"
	InvalidCursor        Code = "invalid_cursor"
	InvalidBody          Code = "invalid_body"
	InvalidReport        Code = "invalid_report"
	IdempotencyKeyReused Code = "idempotency_key_reused"

	// A call that changes something was repeated, or has no key by which a repetition could be told.
	IdempotencyKeyRequired Code = "idempotency_key_required"
	IdempotencyInProgress  Code = "idempotency_in_progress"

	// Actions on dead letters.
	ReasonRequired Code = "reason_required"
	UnknownAction  Code = "unknown_action"
	UnknownAgent   Code = "unknown_agent"
	EntryBusy      Code = "entry_busy"
	EntryChanged   Code = "entry_changed"
	NotEligible    Code = "not_eligible"

	Unauthenticated      Code = "unauthenticated"
	Forbidden            Code = "forbidden"
	ScopeMissing         Code = "scope_missing"
	ReadOnly             Code = "read_only"
	NotFound             Code = "not_found"
	MethodNotAllowed     Code = "method_not_allowed"
	NotAcceptable        Code = "not_acceptable"
	RequestTimeout       Code = "request_timeout"
	Conflict             Code = "conflict"
	PreconditionFailed   Code = "precondition_failed"
	BodyTooLarge         Code = "body_too_large"
	URITooLong           Code = "uri_too_long"
	UnsupportedMediaType Code = "unsupported_media_type"
	RateLimited          Code = "rate_limited"
	HeaderTooLarge       Code = "header_too_large"
	ClientClosed         Code = "client_closed_request"
	Internal             Code = "internal"
	Unavailable          Code = "unavailable"
	Timeout              Code = "timeout"
)

// StatusClientClosed is the unofficial status for a client that went away; it is logged, nobody reads it.
const StatusClientClosed = 499

// Entry is what the table says about a code.
type Entry struct {
	Code      Code
	Status    int
	Title     string // A few words, the same for every occurrence.
	Detail    string // What a user reads when the occurrence has nothing more precise to say.
	Retryable bool   // The same request may succeed later, unchanged.
}

// Table lists all codes in the order of their status. It is the only place with texts for users.
func Table() []Entry {
	return []Entry{
		{BadRequest, http.StatusBadRequest, "Bad request", "The request cannot be understood.", false},
		{InvalidParameter, http.StatusBadRequest, "Invalid parameter", "A parameter has a value that cannot be used.", false},
		{UnknownParameter, http.StatusBadRequest, "Unknown parameter", "The request has a query parameter that this call does not know.", false},
		{InvalidCursor, http.StatusBadRequest, "Invalid cursor",
			"The cursor is damaged, or belongs to another filter or order. Start again without a cursor.", false},
		{InvalidBody, http.StatusBadRequest, "Invalid body", "The body is not what this call expects.", false},
		{IdempotencyKeyRequired, http.StatusBadRequest, "Idempotency key required",
			"This call needs the header Idempotency-Key, so that it happens once however often it is sent.", false},
		{ReasonRequired, http.StatusBadRequest, "Reason required", "An action needs a reason of 3 to 2,000 characters.", false},
		{UnknownAction, http.StatusBadRequest, "Unknown action", "There is no such action on a dead letter.", false},
		{UnknownAgent, http.StatusBadRequest, "Unknown agent", "The policy knows no such agent.", false},
		{Unauthenticated, http.StatusUnauthorized, "Not signed in", "This call needs a valid token or a session.", false},
		{Forbidden, http.StatusForbidden, "Not allowed", "No token or role allows this request.", false},
		{ScopeMissing, http.StatusForbidden, "Scope missing", "The token or session does not have the scope that this call needs.", false},
		{ReadOnly, http.StatusForbidden, "Read-only mode", "This server is in read-only mode.", false},
		{NotFound, http.StatusNotFound, "Not found", "Nothing is stored under that name.", false},
		{MethodNotAllowed, http.StatusMethodNotAllowed, "Method not allowed", "This address does not support that method.", false},
		{NotAcceptable, http.StatusNotAcceptable, "Not acceptable", "The answer does not exist in any of the accepted media types.", false},
		{RequestTimeout, http.StatusRequestTimeout, "Request too slow", "The request did not arrive in time.", true},
		{Conflict, http.StatusConflict, "Conflict", "Somebody else changed it meanwhile. Load it again.", false},
		{IdempotencyInProgress, http.StatusConflict, "In progress", "The same call runs right now under this key. Send it again for its reply.", true},
		{EntryBusy, http.StatusConflict, "An action is open", "An action on this dead letter has not ended. Wait for it, or look at it.", true},
		{EntryChanged, http.StatusPreconditionFailed, "Changed meanwhile", "The dead letter is not what If-Match names any more. Load it again.", false},
		{PreconditionFailed, http.StatusPreconditionFailed, "Changed meanwhile", "The entity tag is stale. Load it again.", false},
		{BodyTooLarge, http.StatusRequestEntityTooLarge, "Body too large", "The body is larger than this call accepts.", false},
		{URITooLong, http.StatusRequestURITooLong, "Address too long", "The address is longer than this server accepts.", false},
		{UnsupportedMediaType, http.StatusUnsupportedMediaType, "Unsupported media type", "This call does not accept that content type.", false},
		{InvalidReport, http.StatusUnprocessableEntity, "Invalid report", "A report cannot be used. Nothing of the request was stored.", false},
		{IdempotencyKeyReused, http.StatusUnprocessableEntity, "Idempotency key reused",
			"The key was used before with another request. Use a new key for a new request.", false},
		{NotEligible, http.StatusUnprocessableEntity, "Not eligible", "The action is not possible now; blocked says why.", false},
		{RateLimited, http.StatusTooManyRequests, "Too many requests", "Wait as long as Retry-After says.", true},
		{HeaderTooLarge, http.StatusRequestHeaderFieldsTooLarge, "Header too large", "A header is larger than this server accepts.", false},
		{ClientClosed, StatusClientClosed, "Client went away", "The connection was closed before the answer was ready.", true},
		{Internal, http.StatusInternalServerError, "Internal error", "Something went wrong in Fleetglass. Its log has the cause.", true},
		{Unavailable, http.StatusServiceUnavailable, "Not available", "Fleetglass cannot answer this now. Try again shortly.", true},
		{Timeout, http.StatusServiceUnavailable, "Took too long",
			"The answer took too long. Narrow the filter or the time range.", true},
	}
}

// lookup returns the entry of a code; a code that is not in the table reads as [Internal].
func lookup(c Code) Entry {
	var internal Entry
	for _, e := range Table() {
		if e.Code == c {
			return e
		}
		if e.Code == Internal {
			internal = e
		}
	}
	return internal
}
